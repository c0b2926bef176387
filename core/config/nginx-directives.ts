/** Names that operators of nginx know and write. */

/** Modules of nginx of which srv has nothing. */
const FAMILIES = /^(?:fastcgi|scgi|uwsgi|grpc|memcached|http3|quic|ssi|dav|mp4|geoip|perl|xslt|image_filter)_/;

/** Those that srv has not, one by one. */
export const NGINX_DIRECTIVES: ReadonlySet<string> = new Set(
  `
  add_after_body add_before_body add_trailer addition_types ancient_browser ancient_browser_value
  auth_delay
  client_body_in_file_only connection_pool_size create_full_put_path debug_points
  early_hints empty_gif epoll_events flv google_perftools_profiles gzip_static
  http3 if image_filter keepalive_disable keepalive_min_timeout
  lingering_close lingering_time mail min_delete_depth mirror mirror_request_body modern_browser
  modern_browser_value mp4 msie_padding msie_refresh
  post_action postpone_gzipping postpone_output
  proxy_cache proxy_cache_background_update proxy_cache_bypass proxy_cache_convert_head proxy_cache_key proxy_cache_lock
  proxy_cache_lock_age proxy_cache_lock_timeout proxy_cache_max_range_offset proxy_cache_methods proxy_cache_min_uses proxy_cache_path
  proxy_cache_revalidate proxy_cache_use_stale proxy_cache_valid proxy_cookie_domain proxy_cookie_flags proxy_cookie_path
  proxy_headers_hash_bucket_size proxy_headers_hash_max_size
  proxy_no_cache proxy_send_lowat proxy_set_body
  proxy_store proxy_store_access
  request_pool_size
  slice ssi ssl_certificate_cache
  ssl_certificate_compression ssl_ech_file ssl_key_log ssl_object_cache_inheritable
  ssl_verify_depth
  subrequest_output_buffer_size tunnel_pass
  `.split(/\s+/),
);

/** Whether nginx has a directive of this name: then it is not misspelt, even if srv does not know it. */
export function isOfNginx(name: string): boolean {
  return NGINX_DIRECTIVES.has(name) || FAMILIES.test(name);
}
