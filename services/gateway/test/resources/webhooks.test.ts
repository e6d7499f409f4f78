import { eventTypes } from '@datahub/contract/watches';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { webhooks } from '../../src/resources/webhooks.ts';

interface Webhooks {
  [type: string]: {
    post: {
      requestBody: { content: { 'application/json': { schema: object } } };
      parameters: { name: string }[];
    };
  };
}

it('describes each type of event by a valid schema, and the three headers', () => {
  expect(Object.keys(webhooks).sort()).toEqual([...eventTypes].sort());
  for (const [type, { post }] of Object.entries(webhooks as Webhooks)) {
    const { schema } = post.requestBody.content['application/json'];
    const isValid = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    expect([type, isValid({ type: 'another', timestamp: '', data: {} })]).toEqual([type, false]);
    expect(post.parameters.map(({ name }) => name)).toEqual([
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
    ]);
  }
});
