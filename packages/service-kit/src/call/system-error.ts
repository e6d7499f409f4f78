/**
 * Tells whether Node itself threw an error of a socket, of TLS, of DNS or of a file: a fault of the environment, not of the
 * program. The codes of wrong calls (`ERR_INVALID_ARG_TYPE` and so on) are none.
 */
export function isSystemError(err: unknown): err is NodeJS.ErrnoException {
  if (!(err instanceof Error)) return false;
  const { code, syscall } = err as NodeJS.ErrnoException;
  if (typeof code !== 'string') return false;
  return typeof syscall === 'string' || ofSockets.test(code);
}

/** Node's codes without `syscall`: errno names, OpenSSL's (`UNABLE_TO_…`, `CERT_…`), and those of closed sockets and streams. */
const ofSockets =
  /^(E[A-Z0-9]{2,}|CERT_\w+|UNABLE_TO_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|HOSTNAME_MISMATCH|ERR_(SSL|TLS|OSSL|SOCKET)_\w+|ERR_STREAM_(PREMATURE_CLOSE|DESTROYED|WRITE_AFTER_END)|UND_ERR_\w+|HPE_\w+)$/;
