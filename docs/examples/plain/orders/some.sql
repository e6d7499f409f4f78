SELECT id, amount FROM orders WHERE id = ANY($1::int[]) AND amount < $2::numeric ORDER BY id
