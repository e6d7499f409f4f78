/**
 * Server reflection (`grpc.reflection.v1` and `v1alpha`) for tools such as grpcurl, from the descriptors that
 * `npm run generate` writes. It is off unless a setting turns it on.
 */

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { Server } from '@grpc/grpc-js';
import type { ReflectionService as Reflection } from '@grpc/reflection';

type PackageDefinition = ConstructorParameters<typeof Reflection>[0];

/** `services` are the full names that `ListServices` returns, such as `datahub.ml.v1.MlService`. */
export async function addReflection(server: Server, services: readonly string[]): Promise<void> {
  const generated = fileURLToPath(import.meta.resolve('@datahub/proto/common/v1/principal'));
  const sets = ['descriptors.binpb', 'health.binpb'].map((name) =>
    readFile(join(dirname(generated), '../../..', name)),
  );
  const files = (await Promise.all(sets)).flatMap(filesOf);
  // ts-proto's services carry no descriptors, and of a package definition the library reads nothing else.
  const definition = { files: { fileDescriptorProtos: files } } as unknown as PackageDefinition;
  // Loaded only here: most servers run without it.
  const { ReflectionService } = await import('@grpc/reflection');
  new ReflectionService(definition, { services: [...services, 'grpc.health.v1.Health'] }).addToServer(server);
}

/** The files of a `FileDescriptorSet`: its field 1. */
function filesOf(descriptorSet: Uint8Array): Buffer[] {
  const reader = new BinaryReader(descriptorSet);
  const files: Buffer[] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1) files.push(Buffer.from(reader.bytes()));
    else reader.skip(type, field);
  }
  return files;
}
