import { HttpCoreModule } from '../http/site/core-module.js';
import type { ModuleClass } from '../contract/manifest.js';
import { StreamCoreModule } from '../stream/site/core-module.js';
import { CoreModule } from './core-module.js';
import { StreamErrorLog } from './stream-error-log.js';

/** The directives of the core itself, declared like those of any module. */
export const BUILT_IN_MODULES: readonly ModuleClass[] = [CoreModule, HttpCoreModule, StreamCoreModule, StreamErrorLog];

/**
 * The modules every server has without a `load_module` line, as a standard nginx build has them linked in: names of files below the
 * program's `modules` folder. Order is load order. One that does not fit the plane of a server is left out there.
 */
export const STANDARD_MODULES: readonly string[] = [
  'srv_http_log_module',
  'srv_http_realip_module',
  'srv_http_map_module',
  'srv_http_geo_module',
  'srv_http_split_clients_module',
  'srv_http_referer_module',
  'srv_http_secure_link_module',
  'srv_http_rewrite_module',
  'srv_http_limit_req_module',
  'srv_http_limit_conn_module',
  'srv_http_access_module',
  'srv_http_auth_basic_module',
  'srv_http_auth_request_module',
  'srv_http_mirror_module',
  'srv_http_ssl_module',
  'srv_http_headers_module',
  'srv_http_userid_module',
  'srv_http_gzip_module',
  'srv_http_gunzip_module',
  'srv_http_sub_filter_module',
  'srv_http_charset_module',
  'srv_http_addition_module',
  'srv_http_upstream_module',
  'srv_http_upstream_least_conn_module',
  'srv_http_upstream_least_time_module',
  'srv_http_upstream_hash_module',
  'srv_http_upstream_ip_hash_module',
  'srv_http_upstream_random_module',
  'srv_http_upstream_sticky_module',
  'srv_http_proxy_module',
  'srv_http_grpc_module',
  'srv_http_fastcgi_module',
  'srv_http_cache_module',
  'srv_http_slice_module',
  'srv_http_stub_status_module',
  'srv_http_static_module',
  'srv_http_kv_module',
  'srv_http_api_module',
  'srv_stream_log_module',
  'srv_stream_ssl_module',
  'srv_stream_realip_module',
  'srv_stream_map_module',
  'srv_stream_geo_module',
  'srv_stream_split_clients_module',
  'srv_stream_set_module',
  'srv_stream_limit_conn_module',
  'srv_stream_access_module',
  'srv_stream_ssl_preread_module',
  'srv_stream_upstream_module',
  'srv_stream_upstream_hash_module',
  'srv_stream_upstream_least_conn_module',
  'srv_stream_upstream_least_time_module',
  'srv_stream_upstream_random_module',
  'srv_stream_proxy_module',
  'srv_stream_return_module',
  'srv_stream_pass_module',
];
