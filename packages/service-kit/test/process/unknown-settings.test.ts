import { describe, expect, it } from 'vitest';
import { unknownSettings } from '../../src/process/unknown-settings.ts';

const nearestTo = (name: string) => unknownSettings({ [name]: 'x' })[0]?.nearest;

describe('unknown settings', () => {
  it.each([
    ['DATAHUB_METRIC_PORT', 'DATAHUB_METRICS_PORT'],
    ['DATAHUB_METRICS_PROT', 'DATAHUB_METRICS_PORT'],
    ['DATAHUB_DATADIR', 'DATAHUB_DATA_DIR'],
    ['DATAHUB_STORE_URI', 'DATAHUB_STORE_URL'],
    ['DATAHUB_APIKEY', 'DATAHUB_API_KEY'],
  ])('%s is probably %s', (name, nearest) => expect(nearestTo(name)).toBe(nearest));

  it('are named without a suggestion if no setting is similar', () => {
    expect(unknownSettings({ DATAHUB_COLOUR_OF_LOGO: 'x' })).toEqual([
      { name: 'DATAHUB_COLOUR_OF_LOGO', nearest: undefined },
    ]);
  });

  it('contain no setting, no other program’s variable and none that Kubernetes sets for a service', () => {
    const env = {
      DATAHUB_DEMO: '0',
      DATA_HUB: 'x',
      PORTS: 'x',
      DATAHUB_GATEWAY_SERVICE_HOST: '10.0.0.1',
      DATAHUB_GATEWAY_SERVICE_PORT_HTTP: '8080',
      DATAHUB_GATEWAY_PORT: 'tcp://10.0.0.1:8080',
      DATAHUB_GATEWAY_PORT_8080_TCP_ADDR: '10.0.0.1',
    };
    expect(unknownSettings(env)).toEqual([]);
  });
});
