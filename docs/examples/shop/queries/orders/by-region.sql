-- ---
-- label: Orders by region
-- source: Orders
-- folder: Reports
-- context:
--   - key: region
--     type: string
--     required: true
--     enum:
--       - north
--       - south
--       - east
--       - west
--     description: Where the customer lives.
--   - key: minimum
--     value: 0.00
--     type: decimal
-- cache:
--   maxAgeS: 60
-- tool:
--   name: shop_orders_by_region
--   description: Lists the largest orders of a region.
-- presentation:
--   chart:
--     type: bar
--     x: product
--     y: amount
-- ---
SELECT id, product, quantity, amount
FROM orders
WHERE region = :region AND amount >= :minimum
ORDER BY amount DESC, id
LIMIT 100
