package io.millrace.rpc;

/// Every metric name of the suite, as Prometheus shows it but for the `_total` that it adds to counters.
/// Micrometer's own naming convention keeps the colon of `vllm:`; a test holds it. Where the idea is vLLM's,
/// so is the name, so that dashboards and autoscalers made for it work; the rest is `millrace_*`.
public final class MetricNames {
    // Engine load (gauges).
    public static final String REQUESTS_RUNNING = "vllm:num_requests_running";
    public static final String REQUESTS_WAITING = "vllm:num_requests_waiting";
    /// 0 to 1, despite its name.
    public static final String KV_CACHE_USAGE = "vllm:kv_cache_usage_perc";

    // Engine work (counters).
    /// Prompt tokens looked up in the prefix cache; counted once for a request.
    public static final String PREFIX_CACHE_QUERIES = "vllm:prefix_cache_queries";
    /// Prompt tokens found there.
    public static final String PREFIX_CACHE_HITS = "vllm:prefix_cache_hits";
    public static final String PREEMPTIONS = "vllm:num_preemptions";
    public static final String PROMPT_TOKENS = "vllm:prompt_tokens";
    public static final String GENERATION_TOKENS = "vllm:generation_tokens";
    /// Tag `finished_reason`.
    public static final String REQUEST_SUCCESS = "vllm:request_success";
    /// Tag `reason`.
    public static final String ADMISSION_REJECTIONS = "vllm:admission_rejections";

    /// Steps of an engine loop, and rows computed in them: their ratio is the mean batch.
    public static final String ENGINE_STEPS = "millrace_engine_steps";
    public static final String ENGINE_ROWS = "millrace_engine_rows";
    /// Tokens computed again after a preemption.
    public static final String TOKENS_RECOMPUTED = "millrace_tokens_recomputed";

    /// Always 1; tag `kernels` names provider and instruction set.
    public static final String KERNEL_PROVIDER = "millrace_kernel_provider";
    /// Speed of a kernel in the self-check at start, over its floor: below 1 is slow. Tag `kernel`.
    public static final String KERNEL_SELF_CHECK = "millrace_kernel_selfcheck";

    // Request times (histograms, seconds) and sizes (histograms, tokens).
    public static final String TIME_TO_FIRST_TOKEN = "vllm:time_to_first_token_seconds";
    public static final String INTER_TOKEN_LATENCY = "vllm:inter_token_latency_seconds";
    public static final String TIME_PER_OUTPUT_TOKEN = "vllm:request_time_per_output_token_seconds";
    public static final String E2E_REQUEST_LATENCY = "vllm:e2e_request_latency_seconds";
    public static final String REQUEST_QUEUE_TIME = "vllm:request_queue_time_seconds";
    public static final String REQUEST_PREFILL_TIME = "vllm:request_prefill_time_seconds";
    public static final String REQUEST_DECODE_TIME = "vllm:request_decode_time_seconds";
    public static final String REQUEST_PROMPT_TOKENS = "vllm:request_prompt_tokens";
    public static final String REQUEST_GENERATION_TOKENS = "vllm:request_generation_tokens";

    // Prefill/decode split.
    /// Prompt tokens by where they came from: tag `tier` = memory, disk, computed.
    public static final String CACHED_PROMPT_TOKENS = "millrace_cached_prompt_tokens";
    /// Prompt tokens decode computed itself: small prompts, and recompute after a fault.
    public static final String DECODE_PROMPT_TOKENS_COMPUTED = "millrace_decode_prompt_tokens_computed";
    /// KV bytes decode fetched.
    public static final String KV_TRANSFER_BYTES = "millrace_kv_transfer_bytes";
    public static final String KV_TRANSFER_TIME = "millrace_kv_transfer_seconds";
    /// Blocks computed again because the cache could not serve them.
    public static final String KV_RECOMPUTED_TOKENS = "millrace_kv_recomputed_tokens";
    /// Calls to the prefix cache that gave nothing: tags `operation`, `reason`.
    public static final String KV_CACHE_CLIENT_FAULTS = "millrace_kv_cache_client_faults";

    // Gateway.
    /// Texts that wait for a thread to be tokenized (gauge): tag `length` = short, long.
    public static final String GATEWAY_TEXTS_WAITING = "millrace_gateway_texts_waiting";
    /// Prompts decode computes because no prefill instance could.
    public static final String GATEWAY_PREFILL_FALLBACKS = "millrace_gateway_prefill_fallbacks";
    /// Decode calls that go on where another broke.
    public static final String GATEWAY_DECODE_RESUMES = "millrace_gateway_decode_resumes";

    // kv-cache-service.
    public static final String KV_CACHE_BLOCKS = "millrace_kv_cache_blocks";
    public static final String KV_CACHE_PINNED_BLOCKS = "millrace_kv_cache_pinned_blocks";
    public static final String KV_CACHE_USED_BYTES = "millrace_kv_cache_used_bytes";
    public static final String KV_CACHE_PINNED_BYTES = "millrace_kv_cache_pinned_bytes";
    public static final String KV_CACHE_TAIL_BYTES = "millrace_kv_cache_tail_bytes";
    /// Room taken by reservations and by blocks whose put is under way.
    public static final String KV_CACHE_RESERVED_BYTES = "millrace_kv_cache_reserved_bytes";
    public static final String KV_CACHE_CAPACITY_BYTES = "millrace_kv_cache_capacity_bytes";
    public static final String KV_CACHE_LEASES = "millrace_kv_cache_leases";
    public static final String KV_CACHE_HOLDERS = "millrace_kv_cache_holders";
    public static final String KV_CACHE_EVENT_STREAMS = "millrace_kv_cache_event_streams";
    /// Blocks asked for by matches, and blocks found.
    public static final String KV_CACHE_QUERIED_BLOCKS = "millrace_kv_cache_queried_blocks";
    public static final String KV_CACHE_MATCHED_BLOCKS = "millrace_kv_cache_matched_blocks";
    /// Blocks of puts: tag `outcome` = stored, duplicate, no_room, no_parent, dropped.
    public static final String KV_CACHE_PUT_BLOCKS = "millrace_kv_cache_put_blocks";
    /// Sections of puts that differ from their checksum on arrival.
    public static final String KV_CACHE_CHECKSUM_MISMATCHES = "millrace_kv_cache_checksum_mismatches";
    /// Stored blocks and tails found to differ from their checksum when they were to be sent; dropped.
    public static final String KV_CACHE_DAMAGED_BLOCKS = "millrace_kv_cache_damaged_blocks";
    /// Blocks dropped for room or on request.
    public static final String KV_CACHE_EVICTED_BLOCKS = "millrace_kv_cache_evicted_blocks";
    /// Ended leases: tag `reason` = released, holder_lost, expired.
    public static final String KV_CACHE_LEASES_ENDED = "millrace_kv_cache_leases_ended";
    /// Requests refused for a limit: tag `limit`.
    public static final String KV_CACHE_LIMIT_REFUSALS = "millrace_kv_cache_limit_refusals";
    public static final String KV_CACHE_RECEIVED_BYTES = "millrace_kv_cache_received_bytes";
    public static final String KV_CACHE_SENT_BYTES = "millrace_kv_cache_sent_bytes";

    private MetricNames() {}
}
