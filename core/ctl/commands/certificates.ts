import { defined, done, type Arguments, type Command, type Operand, type Option } from '../command.js';
import { table, valueText, type Row } from '../table.js';

const ADDRESSES: Operand = { name: 'ADDRESSES', about: 'addresses that the server listens on, separated by commas: 0.0.0.0:443,[::]:443' };
const NAME: Option = {
  name: 'name',
  value: 'NAME',
  repeated: true,
  about: 'name of a server, may be repeated; without it, the default server of each address',
};

/** The servers that a call is about. */
function servers(args: Arguments): Row {
  const names = args.all('name');
  return { listens: args.operand('ADDRESSES').split(','), ...(names.length > 0 && { serverNames: names }) };
}

/** As OpenSSL names them, and as the API does. */
const KEY_KINDS = [
  ['rsa', 'rsa'],
  ['ec', 'ecc'],
] as const;

/** The kind of key that a certificate in PEM is for; undefined if it has another one, or is none. */
function keyKind(certificate: string): string | undefined {
  try {
    // Loaded when it is used: few commands need it.
    const type = new (process.getBuiltinModule('node:crypto').X509Certificate)(certificate).publicKey.asymmetricKeyType;
    return KEY_KINDS.find(([kind]) => kind === type)?.[1];
  } catch {
    return undefined;
  }
}

interface ListedServer {
  readonly listens: readonly string[];
  readonly serverNames: readonly string[];
  readonly certificates: readonly Row[];
}

const COLUMNS = table([
  { title: 'LISTENS', field: 'listens' },
  { title: 'NAMES', field: 'serverNames' },
  { title: 'KEY', field: 'cert_type' },
  { title: 'FROM', text: (row) => (row['source'] === 'api' ? 'API' : 'file') },
  { title: 'SUBJECT', field: 'subject' },
  { title: 'EXPIRES', text: (row) => valueText(row['not_after']).slice(0, 10) },
  { title: 'DAYS_LEFT', field: 'days_left' },
  { title: 'FINGERPRINT', text: (row) => `${valueText(row['fingerprint']).slice(0, 23)}…` },
]);

export const CERTIFICATES: readonly Command[] = [
  {
    words: 'certs list',
    about: 'list servers and their certificates',
    call: () => ({ method: 'GET', path: '/v1/ssl' }),
    show: (response) =>
      COLUMNS(
        (response as readonly ListedServer[]).flatMap(({ certificates, ...server }) =>
          certificates.map((certificate) => ({ ...server, ...certificate })),
        ),
      ),
  },
  {
    words: 'certs set',
    about: 'set the certificate of servers',
    operands: [
      ADDRESSES,
      { name: 'CERTIFICATE', about: 'PEM file, the certificate of the server first', isFile: true },
      { name: 'KEY', about: 'PEM file of its private key; -: standard input', isFile: true },
    ],
    options: [NAME, { name: 'type', value: 'KIND', about: 'kind of key, rsa or ecc (default: that of the key)' }],
    writes: true,
    call: (args, read) => {
      const [certificate, certificateKey] = [read(args.operand('CERTIFICATE')), read(args.operand('KEY'))];
      const type = args.optional('type') ?? keyKind(certificate);
      return {
        method: 'PUT',
        path: '/v1/ssl',
        body: { type: 'add', ...servers(args), cert_info: { ...defined({ cert_type: type }), certificate, certificateKey } },
      };
    },
    show: done,
  },
  {
    words: 'certs remove',
    about: 'take back the certificate that "certs set" has set',
    operands: [ADDRESSES],
    options: [NAME, { name: 'type', value: 'KIND', about: 'kind of key, rsa or ecc (default: all)' }],
    writes: true,
    call: (args) => ({
      method: 'PUT',
      path: '/v1/ssl',
      body: {
        type: 'del',
        ...servers(args),
        ...(args.optional('type') !== undefined && { cert_info: { cert_type: args.optional('type') } }),
      },
    }),
    show: done,
  },
];
