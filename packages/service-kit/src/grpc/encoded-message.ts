/** A response that its handler has encoded itself, in parts, because encoding it at once would block the process. */
export class EncodedMessage {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

type Serialize = (value: unknown) => Buffer;

/** The definition of a service whose handlers may return an `EncodedMessage` instead of a message. */
export const withEncodedMessages = <D extends object>(definition: D): D =>
  Object.fromEntries(
    Object.entries(definition as Record<string, { responseSerialize: Serialize }>).map(([name, method]) => {
      const { responseSerialize: serialize } = method;
      const serializeOrTake: Serialize = (value) =>
        value instanceof EncodedMessage ? value.bytes : serialize(value);
      return [name, { ...method, responseSerialize: serializeOrTake }];
    }),
  ) as D;
