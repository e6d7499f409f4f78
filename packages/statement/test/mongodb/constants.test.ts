import { describe, expect, it } from 'vitest';
import { compileCommand } from '../../src/mongodb/command.ts';

const filterOf = (constant: string) => {
  const text = `{"find":"t","filter":{"a":${constant},"b":{"$lt":${constant}}}}`;
  const { bind } = compileCommand(text, { command: 'SELECT', variables: [] });
  return (bind({ contextJson: '{}', pinnedJson: '{}' }) as { text: string }).text;
};

describe('a constant in Extended JSON', () => {
  it.each([
    ['{"$date":"2026-11-20T13:04:05.123Z"}', '{"$date":{"$numberLong":"1795179845123"}}'],
    // A time without a zone is in UTC, whatever the zone of the process.
    ['{"$date":"2026-01-01T10:00:00"}', '{"$date":{"$numberLong":"1767261600000"}}'],
    ['{"$date":{"$numberLong":"-1"}}', '{"$date":{"$numberLong":"-1"}}'],
    ['{"$date":1767261600000}', '{"$date":{"$numberLong":"1767261600000"}}'],
    ['{"$numberLong":"9223372036854775807"}', '{"$numberLong":"9223372036854775807"}'],
    ['{"$numberInt":"-5"}', '{"$numberInt":"-5"}'],
    ['{"$numberDouble":"-Infinity"}', '{"$numberDouble":"-Infinity"}'],
    ['{"$numberDecimal":"1.50"}', '{"$numberDecimal":"1.50"}'],
    ['{"$oid":"0123456789abcdef01234567"}', '{"$oid":"0123456789abcdef01234567"}'],
    ['{"$binary":{"base64":"AQI=","subType":"00"}}', '{"$binary":{"base64":"AQI=","subType":"00"}}'],
    ['{"$timestamp":{"t":1,"i":2}}', '{"$timestamp":{"t":1,"i":2}}'],
    ['{"$maxKey":1}', '{"$maxKey":1}'],
    [
      '{"$regularExpression":{"pattern":"x","options":""}}',
      '{"$regularExpression":{"pattern":"x","options":""}}',
    ],
  ])('is sent as it is meant: %s', (constant, sent) => {
    expect(filterOf(constant)).toBe(`{"find":"t","filter":{"a":${sent},"b":{"$lt":${sent}}}}`);
  });

  it.each([
    '{"$date":"2026-02-30T00:00:00Z"}',
    '{"$date":"tomorrow"}',
    '{"$date":""}',
    '{"$date":"04/03/2026"}',
    '{"$date":{"$numberLong":"9223372036854775807"}}',
    '{"$date":9999999999999999}',
    '{"$date":"2026-11-20T13:04:05Z","x":1}',
    '{"$numberLong":"99999999999999999999"}',
    '{"$numberLong":"1","x":1}',
    '{"$numberInt":"99999999999"}',
    '{"$numberInt":"x"}',
    '{"$numberInt":"1.7"}',
    '{"$numberDouble":"1,5"}',
    '{"$oid":"0123"}',
    '{"$oid":null}',
    '{"$binary":{"base64":"!!!","subType":"00"}}',
    '{"$binary":"AQI=","$type":"00"}',
    '{"$timestamp":{"t":-1,"i":2}}',
    '{"$maxKey":2}',
    // What stands beside it would be lost.
    '{"$oid":":x","b":1}',
    '{"$uuid":":x","$oid":":x"}',
    '{"$oid":"0123456789abcdef01234567","$gt":3}',
  ])('that the driver would read as another value is refused: %s', (constant) => {
    const refused = expect.objectContaining({ code: 'SQL_REJECTED' });
    expect(() => filterOf(constant)).toThrow(refused);
    for (const [name, body] of [
      ['insert', `"documents":[{"a":[${constant}]}]`],
      ['aggregate', `"pipeline":[{"$set":{"a":{"$add":["$b",${constant}]}}}],"cursor":{}`],
    ]) {
      const command = name === 'insert' ? 'INSERT' : 'SELECT';
      expect(() => compileCommand(`{"${name}":"t",${body}}`, { command, variables: [] })).toThrow(refused);
    }
  });
});
