/** Lets tools such as grpcurl ask a server what it offers (`grpc.reflection.v1`). Off unless a setting wants it. */

import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Server } from '@grpc/grpc-js';

/** The folder of the `.proto` files, five levels above a generated one. */
function protoRoot(): string {
  const generated = fileURLToPath(import.meta.resolve('@datahub/proto/common/v1/principal'));
  return join(dirname(generated), '../../../..');
}

/** `protos` name files of the contract, such as `catalog/v1/catalog`. */
export async function addReflection(server: Server, protos: readonly string[]): Promise<void> {
  const [{ ReflectionService }, { load }] = await Promise.all([
    import('@grpc/reflection'),
    import('@grpc/proto-loader'),
  ]);
  const root = protoRoot();
  const files = protos.map((name) => join(root, 'datahub', `${name}.proto`));
  const definition = await load(
    files.map((file) => relative(root, file)),
    { includeDirs: [root], keepCase: true },
  );
  new ReflectionService(definition).addToServer(server);
}
