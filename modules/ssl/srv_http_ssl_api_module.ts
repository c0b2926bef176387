import { DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import { KEY_KINDS } from '../../core/contract/certificates.js';
import { controlModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { Done, pageLimit, readReply, type Versioned, writeReply } from '../../core/contract/versioned.js';

/** Characters of a chain or a key. */
const LONGEST = 32_768;

const text = (description: string) => Type.Optional(Type.String({ maxLength: LONGEST, description }));

const Certificate = Type.Object(
  {
    cert_type: Type.String({ description: '`rsa`, `ecc`, or the name of another kind of key.' }),
    source: Type.Enum(['api', 'file']),
    subject: Type.String(),
    issuer: Type.String(),
    names: Type.Array(Type.String(), { description: 'Names and addresses it is for.' }),
    serial: Type.String(),
    fingerprint: Type.String({ description: 'SHA-256.' }),
    key_bits: Type.Optional(Type.Integer({ description: 'Of an RSA key.' })),
    not_before: Type.String(),
    not_after: Type.String(),
    days_left: Type.Integer(),
    expired: Type.Boolean(),
    chain_length: Type.Integer({ description: 'With those of authorities.' }),
  },
  { title: 'Certificate' },
);
const Server = Type.Object(
  { listens: Type.Array(Type.String()), serverNames: Type.Array(Type.String()), certificates: Type.Array(Certificate) },
  { title: 'ServerCertificates' },
);

const list = {
  summary: 'List servers and their certificates, without keys',
  query: Type.Object({
    after: Type.Optional(Type.Integer({ minimum: 0, description: 'Last entry of the previous page.' })),
    limit: pageLimit(),
  }),
  responses: { 200: Type.Array(Server) },
  headers: ['ETag', 'Link'],
  errors: DATA_PLANE_ERRORS,
} as const;
const change = {
  summary: 'Set the certificate of servers for a kind of key, or remove what was set',
  dryRun: true,
  body: Type.Object(
    {
      type: Type.Enum(['add', 'del']),
      listens: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 1000, description: 'Addresses of `listen`.' }),
      serverNames: Type.Optional(
        Type.Array(Type.String(), { maxItems: 10_000, description: 'Names at each of the addresses; none: the default server of each.' }),
      ),
      cert_info: Type.Optional(
        Type.Object({
          cert_type: Type.Optional(Type.Enum(KEY_KINDS, { description: 'Kind of key; to remove, none means all.' })),
          certificate: text('Chain in PEM, that of the server first; `data:` may stand in front.'),
          certificateKey: text('Private key in PEM, without a passphrase; `data:` may stand in front.'),
        }),
      ),
    },
    { title: 'CertificateChange' },
  ),
  responses: { 200: Done },
  headers: ['ETag'],
  errors: [
    ...DATA_PLANE_ERRORS,
    'InvalidField',
    'CertificateInvalid',
    'CertificateNotFound',
    'ServerNotFound',
    'VersionMismatch',
    'ConfigError',
    'ChangedMeanwhile',
    'HeapFull',
    'StoreFull',
  ],
} as const;

/** Certificates over HTTP: `/v1/ssl`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_ssl_api_module', api: 1, key: 'ssl', dataModule: 'srv_http_dyn_ssl_module' })
export class SslApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', list)
  async list({ query, ...call }: Call<typeof list>): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('ssl.list', query, call));
  }

  @route('PUT', '', change)
  async change({ body, ...call }: Call<typeof change>): Promise<Reply> {
    return writeReply(call, await this.dataPlane.call<Versioned>('ssl.change', body, call));
  }
}
