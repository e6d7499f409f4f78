/** The settings of the catalog. */

import { integer, list, optional, port } from './setting-kinds.ts';

export const catalog = {
  DATAHUB_INTERNAL_PORT: integer(
    7074,
    port,
    'separate: the port where executors get definitions and sealed credentials',
  ),
  DATAHUB_CATALOG_REPLICAS: integer(
    1,
    [1, 1_000],
    'how many catalogs share the store; with more than one, a change is acknowledged after the leases expired (`DATAHUB_LEASE_MS`)',
  ),
  DATAHUB_AUDIT_DAYS: integer(
    90,
    [1, 36_500],
    'how long audit entries of changes are kept; a change also applies to existing entries, and deleted entries stay deleted',
  ),
  DATAHUB_USAGE_DAYS: integer(
    90,
    [1, 36_500],
    'how long counts of uses are kept, in the same way: by the hour for two days after their day, then by the day',
  ),
  DATAHUB_EXPIRED_KEY_DAYS: integer(
    30,
    [0, 36_500],
    'how long an expired key is listed; what it did stays in the audit',
  ),
  DATAHUB_RUN_DAYS: integer(
    90,
    [1, 36_500],
    'how long the runs of watches are kept, of each watch at most 10,000',
  ),
  DATAHUB_QUERY_RUN_DAYS: integer(
    30,
    [1, 36_500],
    'how long the [runs of queries](api.md#runs-of-a-query) are kept',
  ),
  DATAHUB_QUERY_RUNS_MAX: integer(
    10_000,
    [0, 1_000_000],
    'how many runs of one query are kept, the newest; 0 keeps none',
  ),
  DATAHUB_ACCOUNT_RUNS_MAX: integer(
    1_000_000,
    [1_000, 1_000_000_000],
    'how many runs of all queries of one account are kept, the newest',
  ),
  DATAHUB_EVENT_DAYS: integer(30, [1, 36_500], 'how long events are kept'),
  DATAHUB_MAIL_URL: optional(
    'the public address of the hub, for the links in mails; without it, no destination can be a [mail address](events.md#mail)',
  ),
  DATAHUB_MAIL_DOMAINS: list('domains whose mail addresses need not confirm, such as `example.com`'),
  DATAHUB_MAIL_HOURLY_MAX: integer(
    100,
    [1, 1_000_000],
    'how many mails an account may send in an hour; further ones wait for the next hour',
  ),
  DATAHUB_LEASE_MS: integer(
    1_000,
    [0, 1_000],
    'how long an executor may cache a definition without renewing its lease',
  ),
  DATAHUB_SERVER_CONNECTIONS_MAX: list(
    'the maximum number of connections to a database server over all sources and users, shared fairly among accounts: `host:port=n`, separated by commas. It counts by the host that a source names, in any case, with or without a dot at the end, and IP addresses in any spelling. Another name or address of the same server, and one behind a bastion, is another server: name each, or let the database limit its users, too',
  ),
  DATAHUB_SLOT_LEASE_MS: integer(
    60_000,
    [3_000, 600_000],
    'separate: after how long without a message the connections of an executor are [given to others](operations.md#connections-to-one-database)',
  ),
  DATAHUB_SEALING_PUBLIC_KEYS: list(
    'separate: public keys, separated by commas; the first one encrypts; the catalog does not start without one',
    'from the data directory',
  ),
};
