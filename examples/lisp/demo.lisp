; demo.lisp -- enough garbage for a few collections
(define not (lambda (x) (null? x)))
(define append (lambda (a b) (if (null? a) b (cons (car a) (append (cdr a) b)))))
(define length (lambda (l) (let ((n 0)) (while (pair? l) (set! n (+ n 1)) (set! l (cdr l))) n)))
(define range (lambda (n) (let ((l '())) (while (< 0 n) (set! l (cons n l)) (set! n (- n 1))) l)))

; All ways to put n queens on a board, none of which attacks another.
(define attacks
  (lambda (row distance others)
    (if (null? others) '()
        (if (= (car others) row) t
            (if (= (- (car others) row) distance) t
                (if (= (- row (car others)) distance) t
                    (attacks row (+ distance 1) (cdr others))))))))
(define place
  (lambda (row column n others)
    (if (< n row) '()
        (append (if (attacks row 1 others) '() (queens (+ column 1) n (cons row others)))
                (place (+ row 1) column n others)))))
(define queens
  (lambda (column n others)
    (if (< n column) (list others) (place 1 column n others))))
(print 'queens (length (queens 1 6 '())))

; A list that lives, and is written to while collections go on.
(define live (range 20000))
(define rounds 10)
(while (< 0 rounds)
  (let ((l live))
    (while (pair? l)
      (set-car! l (+ (car l) 1))
      (set! l (cdr l))))
  (set! rounds (- rounds 1)))
(print 'first (car live) 'length (length live))

; Circles, and objects that are watched.
(define circles 200)
(while (< 0 circles)
  (let ((c (list 1 2 3)))
    (set-cdr! (cdr (cdr c)) c)
    (watch c))
  (set! circles (- circles 1)))
(collect)
(collect)
(print 'done)
