/** What the gateway calls: the same interfaces whether the services run in this process or behind gRPC. */

import type { Executor } from '@datahub/executor-session/executor';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { MlServiceService } from '@datahub/proto/ml/v1/ml';
import type { Calls } from '@datahub/service-kit/call/call';

export interface Upstreams {
  catalog: Calls<typeof CatalogServiceService>;
  executor: Executor;
  ml: Calls<typeof MlServiceService>;
}
