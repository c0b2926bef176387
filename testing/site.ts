/** The configuration of a server under test, made of the parts that a test is about. */

export interface Site {
  /** Files of modules to load, absolute, or as `load_module` takes them. */
  readonly modules?: readonly string[];
  /** Directives of the main level, of the `http` block, and of its first server, which listens. */
  readonly main?: string;
  readonly http?: string;
  readonly server?: string;
  /** Directives of the `stream` block, which is there if this is: `server { listen 127.0.0.1:%%PORT_name%%; … }`. */
  readonly stream?: string;
  /** The control plane, which is there if this is. */
  readonly control?: ControlSite;
  /** Workers; 2 by default, so that what only works in one of them is found. */
  readonly workers?: number;
  /** More files, by their path below the prefix. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface ControlSite {
  readonly modules?: readonly string[];
  /** Directives of the `http` block, and of the location that holds the API. */
  readonly http?: string;
  readonly api?: string;
}

/** Names of ports that every server under test has. */
export const WEB = 'web';
export const CONTROL = 'control';

/** The files of a server under test by their paths below the prefix, with `%%PORT_name%%` where a port is to be. */
export function siteFiles({
  modules = [],
  main = '',
  http = '',
  server = '',
  stream,
  control,
  workers = 2,
  files = {},
}: Site): Map<string, string> {
  const made = new Map(Object.entries(files));
  if (control !== undefined) {
    made.set('conf/broker.conf', '');
    made.set('conf/control.conf', controlConf(control));
  }
  const helpers =
    control === undefined
      ? ''
      : `helper broker modules/srv_helper_broker_module.js conf/broker.conf;
helper ctrl modules/srv_helper_ctrl_module.js conf/control.conf;`;
  made.set(
    'conf/srv.conf',
    `daemon off;
worker_processes ${workers};
error_log logs/error.log notice;
${loadLines(modules)}
${helpers}
${main}
events { }
${stream === undefined ? '' : `stream {\n${stream}\n}`}
http {
${http}
server {
listen 127.0.0.1:%%PORT_${WEB}%%;
${server}
}
}
`,
  );
  return made;
}

function controlConf({ modules = [], http = '', api = '' }: ControlSite): string {
  // Machines that run tests are busy.
  return `api_timeout 8s;
error_log logs/error.log notice;
${loadLines(modules)}
events { }
http {
${http}
server {
listen 127.0.0.1:%%PORT_${CONTROL}%%;
location /api {
dyn_module_api;
${api}
}
}
}
`;
}

function loadLines(modules: readonly string[]): string {
  return modules.map((module) => `load_module "${module}";`).join('\n');
}
