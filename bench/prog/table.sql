-- table.sql -- a table in memory with an index
-- SPDX-License-Identifier: BSD-2-Clause
create table t(a integer primary key, b text, c real);
create index tb on t(b);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000)
  insert into t select i, 'row' || ((i * 7919) % 100003), i * 1.5 from n;
select count(*), sum(length(b)), max(c) from t where b like '%9%';
select b, count(*) from t group by substr(b, 1, 5) order by 2 desc limit 3;
update t set b = b || 'x' where a % 3 = 0;
delete from t where a % 5 = 0;
select count(*) from t x join t y on x.b = y.b;
select count(*) from (select distinct upper(b) || hex(c) from t);
