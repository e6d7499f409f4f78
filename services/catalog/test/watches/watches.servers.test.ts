import { describeMongodb, newDatabaseUrl } from '../../../../tests/support/mongodb.ts';
import { openCatalogStore } from '../../src/store.ts';
import { describeComparing, describeTelling } from './telling-cases.ts';
import { describeWatches } from './watch-cases.ts';

describeMongodb(240_000, () => {
  describeWatches('MongoDB', () => openCatalogStore(newDatabaseUrl()));
  describeTelling('MongoDB', () => openCatalogStore(newDatabaseUrl()));
  describeComparing('MongoDB', () => openCatalogStore(newDatabaseUrl()));
});
