/** Existing variable that was probably meant by an unknown name. Names are without the dollar. */
import { nearest } from '../contract/suggest.js';

/** All of nginx, of requests and of sessions, whether srv has them or not. */
const NAMES: ReadonlySet<string> = new Set(
  `
  ancient_browser args binary_remote_addr body_bytes_sent bytes_received bytes_sent connection connection_requests connection_time
  connections_active connections_reading connections_waiting connections_writing content_length content_type date_gmt date_local
  document_root document_uri fastcgi_path_info fastcgi_script_name geoip_area_code geoip_city geoip_city_continent_code
  geoip_city_country_code geoip_city_country_code3 geoip_city_country_name geoip_country_code geoip_country_code3 geoip_country_name
  geoip_dma_code geoip_latitude geoip_longitude geoip_org geoip_postal_code geoip_region geoip_region_name gzip_ratio host hostname http2
  http3 https invalid_referer is_args is_request_port jwt_payload limit_conn_status limit_rate limit_req_status memcached_key
  modern_browser msec msie nginx_version pid pipe protocol proxy_add_x_forwarded_for proxy_host proxy_port proxy_protocol_addr
  proxy_protocol_port proxy_protocol_server_addr proxy_protocol_server_port query_string realip_remote_addr realip_remote_port
  realpath_root remote_addr remote_port remote_user request request_body request_body_file request_completion request_filename
  request_id request_length request_method request_port request_time request_uri scheme secure_link secure_link_expires server_addr
  server_name server_port server_protocol session_log_binary_id session_log_id session_time slice_range ssl_alpn_protocol ssl_cipher
  ssl_ciphers ssl_client_cert ssl_client_escaped_cert ssl_client_fingerprint ssl_client_i_dn ssl_client_i_dn_legacy
  ssl_client_raw_cert ssl_client_s_dn ssl_client_s_dn_legacy ssl_client_serial ssl_client_sigalg ssl_client_v_end
  ssl_client_v_remain ssl_client_v_start ssl_client_verify ssl_curve ssl_curves ssl_early_data ssl_ech_outer_server_name
  ssl_ech_status ssl_preread_alpn_protocols ssl_preread_protocol ssl_preread_server_name ssl_protocol ssl_server_name ssl_session_id
  ssl_session_reused ssl_sigalg status tcpinfo_rcv_space tcpinfo_rtt tcpinfo_rttvar tcpinfo_snd_cwnd time_iso8601 time_local uid_got
  uid_reset uid_set upstream_addr upstream_bytes_received upstream_bytes_sent upstream_cache_age upstream_cache_key
  upstream_cache_last_modified upstream_cache_status upstream_connect_time upstream_first_byte_time upstream_header_time
  upstream_last_addr upstream_last_server_name upstream_queue_time upstream_response_length upstream_response_time
  upstream_session_time upstream_status uri
  `
    .trim()
    .split(/\s+/),
);

/** How names of families begin that nginx has and srv does not. */
const FAMILIES = /^(?:sent_trailer_|upstream_trailer_|jwt_header_|jwt_claim_|geoip2?_|session_log_)/;

const NOT_SUPPORTED = 'not supported by this version: docs/variables.md lists what is';
const OF_OTHER_ENGINE = 'the requests of "http" and the sessions of "stream" have variables of their own: docs/variables.md';

/**
 * The hint for a name that no variable has; undefined: it is like none.
 * @param known names of the variables that there are
 * @param isElsewhere whether the other traffic engine has a variable of the name
 */
export function variableHint(name: string, known: Iterable<string>, isElsewhere: boolean): string | undefined {
  if (isElsewhere) return OF_OTHER_ENGINE;
  if (NAMES.has(name) || FAMILIES.test(name)) return NOT_SUPPORTED;
  const names = new Set(known);
  // Short names are soon like some other one.
  const meant = name.length < 3 ? undefined : nearest(name, [...names, ...NAMES], Math.max(Math.floor(name.length / 4), 1));
  return meant && `did you mean "$${meant}"?${names.has(meant) ? '' : ` ${NOT_SUPPORTED}`}`;
}
