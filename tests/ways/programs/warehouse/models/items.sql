select 7 as id
