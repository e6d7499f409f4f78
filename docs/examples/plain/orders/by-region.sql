-- Orders of a region, on request from an amount.
SELECT id, product, amount
FROM orders
WHERE region = '{{ region }}' AND product LIKE '%{{ product }}%'
[[AND amount >= {{least}}]]
ORDER BY id;
