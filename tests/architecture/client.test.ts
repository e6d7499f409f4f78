import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { emitGatewayRoutes } from '../../packages/client/bundle.ts';

it('the generated client matches the routes of the gateway (npm run build -w packages/client)', () => {
  const path = new URL('../../packages/client/gen/routes.d.ts', import.meta.url);
  expect(readFileSync(path, 'utf8')).toBe(emitGatewayRoutes());
});
