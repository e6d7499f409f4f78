import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLlmSummarizer } from '../../src/summaries/llm-summarizer.ts';
import type { Summarizer } from '../../src/summaries/summarizer.ts';

const extractive: Summarizer = {
  summarize: async () => ({ generated: 'in its own words', generator: 'extractive' }),
  close: async () => {},
};

describe('the summarizer with a language model', () => {
  let server: Server;
  let answer: (body: {
    model: string;
    messages: { role: string; content: string }[];
  }) => [number, string] | undefined;
  let authorization: string | undefined;

  beforeEach(async () => {
    server = createServer((request, response) => {
      authorization = request.headers.authorization;
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        const [status, body] = answer(JSON.parse(text)) ?? [];
        if (status !== undefined)
          response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const summarize = async (timeoutMs = 1_000, documents = [['A long text.'], ['Another.']]) => {
    const { port } = server.address() as { port: number };
    const failures: unknown[] = [];
    const generator = createLlmSummarizer({
      url: `http://127.0.0.1:${port}/v1/`,
      model: 'small-model',
      apiKey: 'secret',
      timeoutMs,
      fallback: extractive,
      onFallback: (err) => failures.push(err),
    });
    const summary = await generator.summarize(
      { documents, sentences: 2 },
      { accountId: 'a', signal: new AbortController().signal },
    );
    return { summary, failures };
  };

  it('returns its summary', async () => {
    answer = ({ model, messages }) => {
      expect(model).toBe('small-model');
      expect(messages[0]?.content).toContain('at most 2 sentences');
      expect(messages[1]?.content).toBe('A long text.\n\nAnother.');
      return [200, JSON.stringify({ choices: [{ message: { role: 'assistant', content: ' Short. ' } }] })];
    };
    expect((await summarize()).summary).toEqual({ generated: 'Short.', generator: 'small-model' });
    expect(authorization).toBe('Bearer secret');
  });

  it.each([[], [[' '], ['\n']]])(
    'leaves a request without text to the other summarizer',
    async (...documents) => {
      answer = () => expect.unreachable();
      const { summary, failures } = await summarize(1_000, documents);
      expect([summary.generator, failures]).toEqual(['extractive', []]);
    },
  );

  it.each<[string, () => [number, string] | undefined]>([
    [
      'stops in the middle',
      () => [200, '{"choices":[{"message":{"content":"A long"},"finish_reason":"length"}]}'],
    ],
    ['fails', () => [500, '{}']],
    ['returns no text', () => [200, '{"choices":[]}']],
    ['returns no JSON', () => [200, 'A long text, in short']],
    ['does not respond in time', () => undefined],
  ])('uses the fallback if the model %s', async (_name, behaviour) => {
    answer = behaviour;
    const { summary, failures } = await summarize(100);
    expect(summary).toEqual({ generated: 'in its own words', generator: 'extractive' });
    expect(failures).toHaveLength(1);
    // It is logged.
    expect(String(failures[0])).not.toContain('A long');
  });
});
