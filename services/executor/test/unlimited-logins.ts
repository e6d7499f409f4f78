/** The part of a catalog that counts log-ins, without a limit. */

import { LoginGrant } from '@datahub/proto/catalog/v1/catalog_internal';
import type { LoginCounter } from '../src/network/local-logins.ts';

export const unlimitedLogins: LoginCounter = {
  takeLogin: async ({ targets }) => ({
    grants: targets.map(() => LoginGrant.LOGIN_GRANT_COUNTED),
    minute: 0,
    retryAfterMs: 1,
  }),
  endLogin: async () => ({}),
};
