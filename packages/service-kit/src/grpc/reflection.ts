/**
 * Lets tools such as grpcurl ask a server what it offers (`grpc.reflection.v1`, and `v1alpha`, which is alike), out of the
 * descriptors that `npm run generate` leaves. Off unless a setting wants it.
 */

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import type { Server, ServerDuplexStream, ServiceDefinition } from '@grpc/grpc-js';
import { service } from 'grpc-health-check';

interface File {
  bytes: Uint8Array;
  dependencies: string[];
}

interface Contract {
  files: Map<string, File>;
  /** Full names of services, messages, enums and methods → the file that holds them. */
  symbols: Map<string, string>;
}

const notFound = 5;
const unimplemented = 12;

/** `services` are full names, such as `datahub.ml.v1.MlService`. */
export async function addReflection(server: Server, services: readonly string[]): Promise<void> {
  const generated = fileURLToPath(import.meta.resolve('@datahub/proto/common/v1/principal'));
  const set = await readFile(join(dirname(generated), '../../../descriptors.binpb'));
  const contract = readContract([...fieldsOf(set).map(([, file]) => file), ...healthFiles()]);
  const answer = (call: ServerDuplexStream<Buffer, Buffer>): void => {
    call.on('data', (request: Buffer) => call.write(respond(request, { contract, services })));
    call.on('end', () => call.end());
  };
  for (const version of ['v1', 'v1alpha']) {
    server.addService(definitionOf(version), { ServerReflectionInfo: answer });
  }
}

/** The health service is not of this contract; its library has the descriptors. */
function healthFiles(): Uint8Array[] {
  const { Check } = service as unknown as { Check: { requestType: { fileDescriptorProtos: Buffer[] } } };
  return Check.requestType.fileDescriptorProtos;
}

function definitionOf(version: string): ServiceDefinition {
  const same = (bytes: Buffer) => bytes;
  return {
    ServerReflectionInfo: {
      path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      requestStream: true,
      responseStream: true,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    },
  };
}

/** Fields of the request: 3 a file's name, 4 a symbol, 7 the list of services. */
function respond(
  request: Buffer,
  { contract, services }: { contract: Contract; services: readonly string[] },
): Buffer {
  const response = new BinaryWriter();
  response.tag(2, 2).bytes(request);
  const [field, text] = lastField(request);
  if (field === 7) {
    const list = new BinaryWriter();
    for (const name of [...services, 'grpc.health.v1.Health'])
      list.tag(1, 2).fork().tag(1, 2).string(name).join();
    response.tag(6, 2).bytes(list.finish());
  } else if (field === 3 || field === 4) {
    const name = field === 3 ? text : contract.symbols.get(text);
    const files = name === undefined ? [] : withDependencies(contract, name);
    if (files.length > 0) {
      const list = new BinaryWriter();
      for (const { bytes } of files) list.tag(1, 2).bytes(bytes);
      response.tag(4, 2).bytes(list.finish());
    } else writeError(response, notFound, `${text} is not known.`);
  } else writeError(response, unimplemented, 'This is not answered here.');
  return Buffer.from(response.finish());
}

function writeError(response: BinaryWriter, code: number, message: string): void {
  response.tag(7, 2).fork().tag(1, 0).int32(code).tag(2, 2).string(message).join();
}

function lastField(request: Buffer): [field: number, text: string] {
  const reader = new BinaryReader(request);
  let last: [number, string] = [0, ''];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (type === 2) last = [field, new TextDecoder().decode(reader.bytes())];
    else reader.skip(type);
  }
  return last;
}

function withDependencies({ files }: Contract, name: string, seen = new Set<string>()): File[] {
  const file = files.get(name);
  if (file === undefined || seen.has(name)) return [];
  seen.add(name);
  return [
    file,
    ...file.dependencies.flatMap((other) => withDependencies({ files, symbols: new Map() }, other, seen)),
  ];
}

type Kind = 'file' | 'message' | 'enum' | 'service' | 'method';

/** In which fields of descriptor.proto a thing holds others that have names. */
const within: Record<Kind, Record<number, Kind>> = {
  file: { 4: 'message', 5: 'enum', 6: 'service' },
  message: { 3: 'message', 4: 'enum' },
  service: { 2: 'method' },
  enum: {},
  method: {},
};

/** Of each file, a FileDescriptorProto, its name (1), package (2), imports (3) and what it holds. */
function readContract(files: Uint8Array[]): Contract {
  const contract: Contract = { files: new Map(), symbols: new Map() };
  for (const bytes of files) {
    const fields = fieldsOf(bytes);
    const text = (field: number) => fields.filter(([at]) => at === field).map(([, value]) => decode(value));
    const [name = ''] = text(1);
    const [prefix = ''] = text(2);
    contract.files.set(name, { bytes, dependencies: text(3) });
    const note = (under: string, value: Uint8Array, kind: Kind): void => {
      const own = fieldsOf(value);
      const symbol = `${under}.${decode(own.find(([at]) => at === 1)?.[1] ?? new Uint8Array())}`;
      contract.symbols.set(symbol, name);
      for (const [at, inner] of own) {
        const below = within[kind][at];
        if (below !== undefined) note(symbol, inner, below);
      }
    };
    for (const [at, value] of fields) {
      const kind = within.file[at];
      if (kind !== undefined) note(prefix, value, kind);
    }
  }
  return contract;
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** The fields of a message that hold bytes, texts or messages. */
function fieldsOf(message: Uint8Array): [field: number, value: Uint8Array][] {
  const reader = new BinaryReader(message);
  const fields: [number, Uint8Array][] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (type === 2) fields.push([field, reader.bytes()]);
    else reader.skip(type, field);
  }
  return fields;
}
