import test from 'ava';
import { changesConfig } from '../../tools/bench/scenarios/changes-config.js';
import { healthConfiguration } from '../../tools/bench/scenarios/health.js';
import { locationsConfig } from '../../tools/bench/scenarios/locations-config.js';
import { membersConfig } from '../../tools/bench/scenarios/members-config.js';
import { srvServer } from '../../tools/bench/servers.js';
import type { Site } from '../../tools/bench/site.js';
import { check } from '../harness/check.js';

/** Nothing is opened. */
const site: Site = { port: 18_080, backend: 18_081, backendHttp2: 18_082, workers: 2, files: '/tmp/' };
const shape = { upstreams: 2, members: 2, servers: 2, locations: 2 };

const configurations: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  throughput: srvServer().files(site),
  health: { 'conf/srv.conf': healthConfiguration(site, 2) },
  members: membersConfig(site, 18_083, 2),
  locations: locationsConfig(site, 18_083, shape),
  changes: changesConfig(site, 18_083, shape),
};

for (const [name, files] of Object.entries(configurations)) {
  test(`srv accepts the configuration of ${name}`, async (t) => {
    const { 'conf/srv.conf': conf = '', ...others } = files;
    const { code, stderr } = await check(t, conf, others);
    t.is(code, 0, stderr);
  });
}
