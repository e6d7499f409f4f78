/** The services that the gateway calls. The interfaces are the same in this process and over gRPC. */

import type { Executor } from '@datahub/executor-session/executor';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { MlServiceService } from '@datahub/proto/ml/v1/ml';
import type { Calls } from '@datahub/service-kit/call/call';

export interface Upstreams {
  catalog: Calls<typeof CatalogServiceService>;
  executor: Executor;
  ml: Calls<typeof MlServiceService>;
}
