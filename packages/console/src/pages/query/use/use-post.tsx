/** Calls that post JSON, from a shell and programs, with the answer below. */

import type { Scope } from '@datahub/contract/scopes';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { addressOf } from '../../../api/client.ts';
import { needs } from '../../../state/permissions.ts';
import { useAction } from '../../../ui/action.ts';
import { CopyBlock } from '../../../ui/copy-block.tsx';
import { Icon } from '../../../ui/icons.tsx';
import { notify } from '../../../ui/notice.tsx';
import { Tabs } from '../../../ui/page.tsx';
import { type Answer, AnswerView, tryCall } from './answer.tsx';
import { type Post, postCurl, postPython, postTypescript } from './post.ts';

const writers = { curl: postCurl, TypeScript: postTypescript, Python: postPython };
type Name = keyof typeof writers;
const tabs = (Object.keys(writers) as Name[]).map((name) => [name, name] as const);

interface UsePostProps {
  path: string;
  body: object;
  /** The TypeScript type of the answer. */
  answer: string;
  scope: Scope;
  /** Fields that change the body. */
  children?: ComponentChildren;
}

export function UsePost({ path, body, answer: type, scope, children }: UsePostProps) {
  const [name, setName] = useState<Name>('curl');
  const [answer, setAnswer] = useState<Answer>();
  const { busy, run } = useAction();
  const text = JSON.stringify(body);
  const post: Post = { address: addressOf(path), body: text };
  const request = { method: 'POST', path, accept: 'application/json', body: text } as const;
  const attempt = async () => {
    const failed = await run(() => tryCall(request, undefined).then(setAnswer));
    if (failed !== undefined) notify(failed.detail ?? 'The call failed.');
  };
  const code = name === 'TypeScript' ? postTypescript(post, { answer: type }) : writers[name](post);
  return (
    <div class="use-post">
      {children}
      <div class="use-forms">
        <Tabs label="Used from" tabs={tabs} value={name} onChange={(next) => setName(next as Name)} />
        <button type="button" class="primary" onClick={attempt} {...needs(scope, busy)}>
          <Icon name="play" /> Try
        </button>
      </div>
      <CopyBlock key={name} text={code} label={`${name} to copy`} />
      <p class="hint">
        Key: <code>DATAHUB_KEY</code> of the environment, with the scope <code>{scope}</code>.
      </p>
      <AnswerView answer={answer} shown={request} />
    </div>
  );
}
