import { errorAt, type ConfigError } from '../config/errors.js';
import type { ScopeNode } from '../config/scope.js';
import { DYNAMIC_CERTIFICATE } from '../contract/certificates.js';
import type { TlsSettings } from '../contract/manifest.js';
import { unusablePair } from './unusable-pair.js';

/**
 * The error of a server whose certificates OpenSSL rejects, at the line of the certificate or key.
 * @param error of OpenSSL
 */
export function unusableTls(settings: TlsSettings, node: ScopeNode, error: Error): Error | ConfigError {
  const pair = node.linesInForce(DYNAMIC_CERTIFICATE).length > 0 ? undefined : unusablePair(settings);
  const name = pair?.part === 'certificate key' ? 'ssl_certificate_key' : 'ssl_certificate';
  const line = pair && node.linesInForce(name)[pair.at];
  if (pair !== undefined && line !== undefined)
    return errorAt(line, `cannot use ${pair.part} "${line.args[0]?.text ?? ''}": ${pair.reason}`);
  const place = node.lineInForce('ssl_certificate') ?? node.directive;
  return place === undefined ? error : errorAt(place, `cannot use certificate, key or ciphers: ${error.message}`);
}
