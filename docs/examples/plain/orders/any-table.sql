SELECT count(*) AS rows
FROM {{ table }}
