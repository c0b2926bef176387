import type { Command } from './command.js';
import { CACHE } from './commands/cache.js';
import { CAPTCHA } from './commands/captcha.js';
import { CLUSTER } from './commands/cluster.js';
import { CERTIFICATES } from './commands/certificates.js';
import { CONFIGURATION, SETTINGS } from './commands/configuration.js';
import { HEALTH } from './commands/health.js';
import { KEY_VALUE } from './commands/key-value.js';
import { LOCATIONS } from './commands/locations.js';
import { MEMBERS, STATUS } from './commands/members.js';
import { OBSERVE } from './commands/observe.js';
import { SERVERS } from './commands/servers.js';
import { TOP } from './commands/top.js';
import { UPSTREAMS } from './commands/upstreams.js';
import { WORKERS } from './commands/workers.js';

/** Every command that calls the API, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  ...MEMBERS,
  ...UPSTREAMS,
  ...STATUS,
  ...HEALTH,
  ...LOCATIONS,
  ...SERVERS,
  ...CERTIFICATES,
  ...SETTINGS,
  ...KEY_VALUE,
  ...CACHE,
  ...CAPTCHA,
  ...CONFIGURATION,
  ...CLUSTER,
  ...OBSERVE,
  ...TOP,
  ...WORKERS,
];
