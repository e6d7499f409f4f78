import { describeMongodb, newDatabaseUrl } from '../../../../tests/support/mongodb.ts';
import { openCatalogStore } from '../../src/store.ts';
import { describeQueryRuns } from './query-runs-cases.ts';

describeMongodb(240_000, () => describeQueryRuns('MongoDB', () => openCatalogStore(newDatabaseUrl())));
