/** The errors of a bastion. They contain neither its host nor its user. */

import { HubError } from '@datahub/service-kit/call/error';

const failed = (code: 'SOURCE_UNREACHABLE' | 'SOURCE_AUTH' | 'SOURCE_TLS', message: string) => {
  const stage = 'connect';
  return (cause?: unknown, retryable = false) => new HubError(code, message, { cause, stage, retryable });
};

const unreachable = failed(
  'SOURCE_UNREACHABLE',
  'The bastion of the source cannot be reached. Check ssh.host and ssh.port, and that it accepts SSH connections from the hub.',
);
/** The same for an unknown host, a closed port, a timeout, a forbidden address and a server that does not speak SSH. */
export const bastionUnreachable = (cause: unknown) => unreachable(cause, true);

export const logInRefused = failed(
  'SOURCE_AUTH',
  'The bastion of the source refused the log-in. Check ssh.user and ssh.privateKey or ssh.password.',
);

export const keyUnreadable = failed(
  'SOURCE_AUTH',
  'The private key for the bastion of the source cannot be read. Set ssh.privateKey again.',
);

export const noCommonAlgorithm = failed(
  'SOURCE_UNREACHABLE',
  'The bastion of the source offers no key exchange, cipher or MAC that the hub accepts. Update its SSH server.',
);

/** `seen`: the fingerprint of the key that the bastion has shown, if it has shown one. */
export const hostKeyDiffers = (seen: string | undefined): HubError =>
  failed(
    'SOURCE_TLS',
    `The bastion of the source has another host key than ssh.hostKey, so the hub sent it no secret. ${
      seen === undefined
        ? 'It has no key of that type.'
        : `It showed ${seen}. If you know this key from the bastion's operator, set it as ssh.hostKey.`
    }`,
  )();

export const forwardingRefused = failed(
  'SOURCE_UNREACHABLE',
  'The bastion refused to forward to the source. Check its AllowTcpForwarding and PermitOpen, and host and port of the source.',
);

const targetFailed = failed(
  'SOURCE_UNREACHABLE',
  'The bastion was reached, but it cannot reach the source. Check host and port of the source, as the bastion sees them.',
);
export const targetUnreachable = (cause: unknown) => targetFailed(cause, true);
