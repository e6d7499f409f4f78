import { describeMongodb, newDatabaseUrl } from '../../../../tests/support/mongodb.ts';
import { openCatalogStore } from '../../src/store.ts';
import { describeEventClock } from './event-clock-cases.ts';

describeMongodb(240_000, () => {
  describeEventClock('MongoDB', () => openCatalogStore(newDatabaseUrl()));
});
