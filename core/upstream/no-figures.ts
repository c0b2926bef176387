import type { HealthFigures } from '../contract/health.js';

/** Of a member that is not checked. */
export const NO_CHECKS: HealthFigures = { checks: 0, fails: 0, unhealthy: 0, lastAt: 0, lastPassed: false, lastError: '' };

/** Of a member that was not used, see {@link PeerView}. */
export const NO_FIGURES = {
  active: 0,
  requests: 0,
  responses: [0, 0, 0, 0, 0, 0],
  codes: {},
  sent: 0,
  received: 0,
  fails: 0,
  unavail: 0,
  health: NO_CHECKS,
  downtime: 0,
  downstart: 0,
  selected: 0,
  connectTime: 0,
  headerTime: 0,
  responseTime: 0,
} as const;
