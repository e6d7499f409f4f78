import { describeMongodb, newDatabaseUrl } from '../../../../tests/support/mongodb.ts';
import { openCatalogStore } from '../../src/store.ts';
import { describeUseCounts } from './use-counts-cases.ts';

describeMongodb(240_000, () => describeUseCounts('MongoDB', () => openCatalogStore(newDatabaseUrl())));
