INSERT INTO orders (id, region, product, amount)
VALUES (%(id)s, %(region)s, %(product)s, %(amount)s::numeric)
