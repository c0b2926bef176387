import type { Format } from './exposition.js';

/** The format that a scraper prefers (RFC 9110, 12.5.1). Text, if it accepts none of those there are. */
export function acceptedFormat(accept = ''): Format {
  let [best, format]: [number, Format] = [0, 'text'];
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const found = formatOf(type, parameters);
    const quality = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    if (found !== undefined && quality > best) [best, format] = [quality, found];
  }
  return format;
}

function formatOf(type: string, parameters: readonly string[]): Format | undefined {
  if (type === 'application/vnd.google.protobuf') {
    const isFamilies = parameters.includes('proto=io.prometheus.client.metricfamily') && parameters.includes('encoding=delimited');
    return isFamilies ? 'protobuf' : undefined;
  }
  const version = parameters.find((parameter) => parameter.startsWith('version='))?.slice('version='.length);
  if (type === 'application/openmetrics-text') return version === undefined || version === '1.0.0' ? 'openmetrics' : undefined;
  const isText = type === 'text/plain' || type === 'text/*' || type === '*/*';
  return isText && (version === undefined || version === '0.0.4') ? 'text' : undefined;
}
