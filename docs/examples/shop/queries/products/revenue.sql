-- ---
-- label: Revenue by product
-- source: Orders
-- folder: Reports/Products
-- notNull:
--   - revenue
-- ---
-- The report of every Monday.
SELECT product, count(*) AS orders, sum(amount) AS revenue
FROM orders
GROUP BY product
ORDER BY revenue DESC
