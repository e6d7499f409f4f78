/** The console: a client of the public API, with the key that the person gives it. */

import { render } from 'preact';
import { App } from './shell/app.tsx';
import { signInByLink } from './shell/sign-in-link.ts';

await signInByLink();

render(<App />, document.getElementById('app') as HTMLElement);
