import type { Installation } from '../kernel/installation.js';

/** The text of `-h`. */
export function usage(installation: Installation): string {
  return `Usage: srv [-?hvVtTq] [-s signal] [-p prefix]
           [-e filename] [-c filename] [-g directives]
       srv token add | list | remove
       srv explain URL [-X method] [-H header] [--client address]
           [--listen address] [--json] [-p prefix] [-c filename] [-g directives]
       srv test FILE [--client address] [--listen address] [--json]
           [-p prefix] [-c filename] [-g directives]

Options:
  -?,-h         : this help
  -v            : show version and exit
  -V            : show version and configure options then exit
  -t            : test configuration and exit
  -T            : test configuration, dump it and exit
  -q            : suppress non-error messages during configuration testing
  -s signal     : send signal to a master process: stop, quit, reopen, reload,
                  upgrade
  -p prefix     : set prefix path (default: ${installation.root}/)
  -e filename   : set error log file (default: logs/error.log)
  -c filename   : set configuration file (default: conf/srv.conf)
  -g directives : set global directives out of configuration file

Commands:
  token         : edit the tokens of the API, see "srv token -h"
  explain URL   : show what would become of a request, and why, and exit
  test FILE     : run the routing tests in a file and exit

  -X method     : method of the request (default: GET)
  -H header     : header of the request, "Name: value", may be repeated
  --client addr : address of the client (default: 127.0.0.1)
  --listen addr : address the client connects to (default: that of the URL)
  --json        : print JSON

`;
}

/** The text of `-v`. */
export function versionText(installation: Installation): string {
  return `srv version: srv/${installation.version}\n`;
}

/** Text that `-V` adds. @param methods see `possibleMethods` */
export function buildText(installation: Installation, methods: string): string {
  const { node, openssl, v8 } = process.versions;
  return `running on Node.js ${node} (V8 ${v8})\nbuilt with OpenSSL ${openssl}\nTLS SNI support enabled\nevent methods: ${methods}\nconfigure arguments: --prefix=${installation.root}\n`;
}
