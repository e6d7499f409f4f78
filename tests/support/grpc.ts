/** Calls as they are on the wire, so that answers can be compared byte by byte and metadata can be anything. */

import { connect } from 'node:http2';
import { Principal } from '@datahub/proto/common/v1/principal';

/** A method as the generated code describes it. */
export interface Method {
  path: string;
  requestSerialize: (request: never) => Buffer;
  responseDeserialize: (bytes: Buffer) => unknown;
}

export interface Status {
  /** What the call ended with, in the bytes that came: number, text, and the error's whole detail. */
  status: string;
  message: string;
  detail: string;
  /** What came before it. */
  responses: any[];
}

export interface RawCaller {
  /** `principal`: encoded when it is one, sent as it is when it is a text. */
  call(method: Method, request: object | Buffer, principal?: Principal | string): Promise<Status>;
  close(): void;
}

export function createRawCaller(address: string, serviceToken: string | undefined): RawCaller {
  const session = connect(`http://${address}`);
  session.on('error', () => {});
  const call: RawCaller['call'] = (method, request, principal) =>
    new Promise((resolve, reject) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': method.path,
        'content-type': 'application/grpc',
        te: 'trailers',
        'x-request-id': 'raw',
        ...(serviceToken === undefined ? {} : { authorization: `Bearer ${serviceToken}` }),
        ...(principal === undefined ? {} : { 'datahub-principal-bin': inMetadata(principal) }),
      });
      const chunks: Buffer[] = [];
      let ended: Record<string, unknown> = {};
      const note = (headers: object) => {
        ended = { ...ended, ...headers };
      };
      stream.setTimeout(10_000, () => stream.close());
      stream.on('response', note).on('trailers', note).on('error', reject);
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('close', () =>
        resolve({
          status: String(ended['grpc-status'] ?? 'none'),
          message: String(ended['grpc-message'] ?? ''),
          detail: String(ended['datahub-error-bin'] ?? ''),
          responses: [...messagesIn(Buffer.concat(chunks))].map((bytes) => method.responseDeserialize(bytes)),
        }),
      );
      stream.end(framed(request instanceof Buffer ? request : method.requestSerialize(request as never)));
    });
  return { call, close: () => session.destroy() };
}

function inMetadata(principal: Principal | string): string {
  if (typeof principal === 'string') return principal;
  return Buffer.from(Principal.encode(principal).finish()).toString('base64');
}

function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function* messagesIn(bytes: Buffer): Iterable<Buffer> {
  for (let at = 0; at + 5 <= bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    yield bytes.subarray(at + 5, end);
    at = end;
  }
}
