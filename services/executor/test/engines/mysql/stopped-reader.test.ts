import { expect, it } from 'vitest';
import { PacketReader } from '../../../src/engines/mysql/protocol.ts';

const packet = (text: string) =>
  Buffer.concat([Buffer.from([text.length, 0, 0, 0]), Buffer.from(text, 'latin1')]);

it('a stopped reader reads on where it stopped, whatever has arrived of the next packet', () => {
  const bytes = Buffer.concat(['a', 'bc', '', 'def'].map(packet));
  for (let cut = 0; cut <= bytes.length; cut++) {
    const reader = new PacketReader(1_000);
    const read: string[] = [];
    const stopping = (source: Buffer, start: number, end: number) => {
      read.push(source.toString('latin1', start, end));
      return true;
    };
    reader.push(bytes.subarray(0, cut), stopping);
    expect(read.length).toBeLessThanOrEqual(1);
    while (reader.isStopped) reader.push(Buffer.alloc(0), stopping);
    reader.push(bytes.subarray(cut), stopping);
    while (reader.isStopped) reader.push(Buffer.alloc(0), stopping);
    expect(read).toEqual(['a', 'bc', '', 'def']);
  }
});

it('a stopped reader reads the end of the rows, so that the connection is free', () => {
  const reader = new PacketReader(1_000);
  const read: number[] = [];
  const bytes = Buffer.concat([packet('row'), packet('\xfe\0\0\0\0')]);
  reader.push(bytes, (source, start) => read.push(source[start] as number) > 0);
  expect([read, reader.isStopped]).toEqual([[0x72, 0xfe], false]);
});
