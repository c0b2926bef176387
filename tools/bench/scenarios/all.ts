import type { Scenario } from '../scenario.js';
import { cacheIndexScenario } from './cache-index.js';
import { changeRateScenario } from './change-rate.js';
import { changesScenario } from './changes.js';
import { healthScenario } from './health.js';
import { idleScenarios } from './idle.js';
import { locationsScenario } from './locations.js';
import { membersScenario } from './members.js';
import { partLoadScenarios } from './part-load.js';
import { pickScenarios } from './picks.js';
import { scrapeScenario } from './scrape.js';
import { signalsScenario } from './signals.js';
import { startUpScenario } from './start-up.js';
import { telemetryScenario } from './telemetry.js';
import { throughputScenarios } from './throughput.js';
import { clusterScenarios } from './cluster.js';
import { datagramScenario } from './datagrams.js';
import { workersScenario } from './workers.js';

/** Every measurement, in the order of the report. */
export const allScenarios: readonly Scenario[] = [
  ...throughputScenarios,
  datagramScenario,
  ...partLoadScenarios,
  signalsScenario,
  scrapeScenario,
  telemetryScenario,
  ...idleScenarios,
  startUpScenario,
  workersScenario,
  membersScenario,
  healthScenario,
  locationsScenario,
  changesScenario,
  changeRateScenario,
  cacheIndexScenario,
  ...clusterScenarios,
  ...pickScenarios,
];
