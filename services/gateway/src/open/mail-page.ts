/**
 * The page behind the link in mails, where the recipient confirms or ends them. Opening it changes nothing, because
 * programs that look for harmful links open them, too.
 */

import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addressOf } from '../access/authenticate.ts';
import type { RateLimiter } from '../access/rate-limiter.ts';
import { pageHeaders, plainPage } from '../response/plain-page.ts';
import type { Upstreams } from '../upstreams.ts';

const headers = pageHeaders("'self'");
const title = 'Mails of the Data Hub';
const style = 'button{font:inherit;padding:.4rem .8rem;margin:.5rem .5rem 0 0}form{display:inline}';
const pageOf = (content: string): string => plainPage({ title, heading: title, content, style });

const forms =
  pageOf(`<p>A Data Hub can tell you at this address when something happens that somebody watches.</p>
<form method="post" action="confirm"><button>Send me these mails</button></form>
<form method="post" action="./"><button>Do not send me any</button></form>`);

const done = {
  confirm: pageOf('<p>Done. You will get the mails, and each has a link that ends them.</p>'),
  unsubscribe: pageOf('<p>Done. You will get no more of these mails.</p>'),
};

export interface MailPageDeps {
  upstreams: Pick<Upstreams, 'catalog'>;
  rateLimiter: RateLimiter;
}

export function registerMailPage(app: FastifyInstance, { upstreams, rateLimiter }: MailPageDeps): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply, action: keyof typeof done) => {
    const address = addressOf(request);
    rateLimiter.requireFewRefusals(address, 'random');
    const { token } = request.params as { token: string };
    try {
      await upstreams.catalog.answerMail({ token, action }, request.context);
    } catch (err) {
      if (err instanceof HubError && err.code === 'NOT_FOUND')
        await rateLimiter.noteRefusedKey(address, 'random');
      throw err;
    }
    return reply.headers(headers).send(done[action]);
  };
  void app.register(async (pages) => {
    // Forms and one click (RFC 8058) send bodies that say nothing.
    pages.addContentTypeParser('*', (_request, payload, next) => {
      payload.resume();
      next(null, undefined);
    });
    pages.get('/mail/:token/', async (_request, reply) => reply.headers(headers).send(forms));
    pages.post('/mail/:token/', async (request, reply) => answer(request, reply, 'unsubscribe'));
    pages.post('/mail/:token/confirm', async (request, reply) => answer(request, reply, 'confirm'));
  });
}
