/** A setting that all locations inherit calls again the modules that it concerns, where no line of the location replaces it. */
import test from 'ava';
import type { Location } from '../../core/http/site/location.js';
import { Site } from './site.js';

const conf = (
  log: string,
  settings: string,
): string => `events {} http { access_log ${log}; ${settings} server { listen 127.0.0.1:810; server_name a.example;
  location /own/ { proxy_read_timeout 5s; proxy_pass http://127.0.0.1:1; }
  location /if/ { proxy_pass http://127.0.0.1:1; if ($arg_a) { return 204; } }
  location / { proxy_pass http://127.0.0.1:1; location /in/ { proxy_pass http://127.0.0.1:1; } } } }`;

function locations(site: Site): Record<string, Location> {
  const server = site.names('127.0.0.1:810')?.find('a.example').server;
  const found = ['/own/', '/if/', '/', '/in/'].flatMap((path) => {
    const location = server?.locations.find(path)?.location;
    return location === undefined ? [] : [[path, location] as const];
  });
  return Object.fromEntries(found);
}

/** Paths of the locations whose content is another handler after a change of the settings of `http`. */
async function renewed(site: Site, log: string, settings: string): Promise<string[]> {
  const before = locations(site);
  await site.become(conf(log, settings));
  return Object.entries(locations(site)).flatMap(([path, { content }]) => (content === before[path]?.content ? [] : [path]));
}

for (const log of ['off', 'a.log'])
  test(`access_log ${log}: a setting of another module leaves the handlers, one of the module makes new ones where it applies`, async (t) => {
    const site = new Site(t);
    await site.become(conf(log, ''));
    const none = locations(site)['/']?.headerFilters.length ?? 0;
    // Parts of a location are compiled with it.
    t.deepEqual(await renewed(site, log, 'add_header X-A b;'), ['/if/']);
    t.deepEqual(
      Object.values(locations(site)).map(({ headerFilters }) => headerFilters.length),
      [none + 1, none + 1, none + 1, none + 1],
    );
    t.deepEqual(await renewed(site, log, 'keepalive_timeout 7s;'), ['/if/']);
    t.deepEqual(
      Object.values(locations(site)).map(({ settings }) => settings.keepaliveTimeout),
      [7000, 7000, 7000, 7000],
    );
    t.deepEqual(
      Object.values(locations(site)).map(({ headerFilters }) => headerFilters.length),
      [none, none, none, none],
    );
    t.deepEqual(await renewed(site, log, 'proxy_read_timeout 7s;'), ['/if/', '/', '/in/']);
    t.deepEqual(await renewed(site, log, 'proxy_read_timeout 7s; log_format x $uri;'), ['/own/', '/if/', '/', '/in/']);
  });
