/**
 * A typed client of an inner service, over the generated code:
 *
 *     DATAHUB_SERVICE_TOKEN=… node tools/examples/grpc-client.ts 127.0.0.1:7073 "First things first. Then the rest."
 */

import { pathToFileURL } from 'node:url';
import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { createCallContext } from '@datahub/service-kit/call/call';
import { createGrpcClient } from '@datahub/service-kit/grpc/client';

/** A summary in one sentence, on behalf of an account. Rejects with a `HubError`. */
export async function summarize(
  address: string,
  { text, serviceToken, accountId }: { text: string; serviceToken: string; accountId: string },
): Promise<string> {
  const ml = createGrpcClient(MlServiceService, { address, serviceToken });
  const principal = { accountId, keyId: 'example', scopes: ['*'], limits: undefined };
  try {
    const request = { documents: [{ passages: [text] }], sentences: 1 };
    const { generated } = await ml.calls.summarize(
      request,
      createCallContext({ timeoutMs: 5_000, principal }),
    );
    return generated;
  } finally {
    ml.close();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , address = '127.0.0.1:7073', text = ''] = process.argv;
  const serviceToken = process.env.DATAHUB_SERVICE_TOKEN ?? '';
  process.stdout.write(`${await summarize(address, { text, serviceToken, accountId: 'example' })}\n`);
}
