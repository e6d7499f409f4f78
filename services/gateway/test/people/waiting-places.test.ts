import { expect, it } from 'vitest';
import { createWaitingPlaces } from '../../src/people/waiting-places.ts';

it('asks for few at a time, and for fewer of one network', async () => {
  const places = createWaitingPlaces({ max: 3, ofNetworkMax: 2 });
  const ends: (() => void)[] = [];
  let asked = 0;
  const hold = (address: string) =>
    places.hold(address, () => {
      asked++;
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const refused = { code: 'UNAVAILABLE', retryable: true };
  const waiting = [hold('2001:db8::1'), hold('2001:db8::2')];
  await expect(hold('2001:db8::3')).rejects.toMatchObject(refused);
  waiting.push(hold('10.0.0.1'));
  await expect(hold('10.0.0.2')).rejects.toMatchObject(refused);
  expect(asked).toBe(3);
  for (const end of ends) end();
  await Promise.all(waiting);
  await expect(places.hold('10.0.0.1', () => Promise.reject(new Error('x')))).rejects.toThrow('x');
  void hold('2001:db8::3');
  void hold('2001:db8::3');
  void hold('10.0.0.1');
  expect(asked).toBe(6);
});
