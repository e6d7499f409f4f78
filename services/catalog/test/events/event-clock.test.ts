import { openCatalogStore } from '../../src/store.ts';
import { describeEventClock } from './event-clock-cases.ts';

describeEventClock('SQLite', () => openCatalogStore('sqlite::memory:'));
