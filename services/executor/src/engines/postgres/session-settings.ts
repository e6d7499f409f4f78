/** What every session of the hub is set to: values come as text, so their forms are fixed. */
export const sessionSettings = {
  client_encoding: 'UTF8',
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  IntervalStyle: 'iso_8601',
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  xmloption: 'content',
  idle_in_transaction_session_timeout: '60000',
  application_name: 'datahub',
};
