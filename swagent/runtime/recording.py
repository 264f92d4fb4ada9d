"""The recording parts of one agent: its tracer, its capture of log records, its meters and its events.

All of it is put in place when the agent starts and taken back when it stops; nothing of ours stays behind.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..agent_log import RateLimitedLog, say
from ..config import Config
from ..inspection.loop_view import view_of_this_loop
from ..pipeline.encoder import Encoder
from ..pipeline.log_encoder import LogEncoder
from ..pipeline.outlines import Outlines
from ..pipeline.pipelines import Pipelines
from ..pipeline.request_encoder import RequestEncoder
from ..profile.blocked_loop import Block
from ..profile.blocks import Blocks
from ..profile.loop_runs import LoopRuns
from ..profile.loop_watch import LoopWatch
from ..profile.profiler import Profiler
from ..profile.request_clock import Steps
from ..profile.sampler import Limits
from ..profile.timed_steps import steps_here
from ..profile.watch_rest import rest_beside_this_loop
from ..record.events import started, stopping
from ..record.logs.capture import LogCapture, LogSettings
from ..record.logs.layout import Layout
from ..record.meters.definitions import REGISTRY
from ..record.meters.samples import Sample
from ..record.suppression import suppress_instrumentation
from ..record.threads import ThreadPropagation
from ..record.trace import tracer as tracers
from ..record.trace.ignore import compile_ignored
from ..record.trace.model import Component
from ..record.trace.sampling import Sampler
from ..record.trace.segment import Segment
from ..record.trace.tracer import Tracer
from ..request.description import use_endpoint_style
from ..self_meters.ledger import LedgerMeters
from ..self_meters.pools import POOLS
from ..self_meters.runtime import RuntimeMeters
from ..signals import Signal
from .meter_report import MeterReport, Source
from .overrides import Overrides

T = TypeVar("T")


class Recording:
    """Everything that hands records to the pipelines."""

    def __init__(
        self,
        config: Config,
        pipelines: Pipelines,
        encoder: Encoder,
        limited: RateLimitedLog,
        count_tasks: Callable[[], int],
    ) -> None:
        """:param count_tasks: how many tasks live on the agent's loop"""
        self._begun_at = time.time()
        self._has_begun = False
        self._has_ended = False
        self._has_reported_end = False
        self._pipelines = pipelines
        self._offer_samples = self._offer(Signal.METER, encoder.meters)
        self._offer_event = self._offer(Signal.EVENT, encoder.event)
        self.tracer = _build_tracer(config, self._offer_segment)
        requests, outlines = RequestEncoder(encoder, self.tracer), Outlines(self.tracer)
        self._segments = pipelines.segment_intake(encoder.segment, requests, outlines, encoder.segments)
        self.tracer.offer_request = self._segments.offer_request
        self._logs = _build_capture(config, pipelines, encoder)
        self._runtime = RuntimeMeters(count_tasks) if config.pvm_meter_reporter_active else None
        self._threads = ThreadPropagation(config.propagate_threads)
        self._loop_runs = LoopRuns()
        self._blocks = Blocks(self._offer_event)
        self._block_limit = config.loop_block_limit / 1000
        self._loop_watches: dict[int, LoopWatch] = {}
        self._watches_loops = True
        self.on_block: Callable[[Block], object] | None = None
        """Called with each time for which a loop was held, in the watchdog's thread. It must not raise."""
        # each is kept by its loop
        self._steps: weakref.WeakSet[Steps] = weakref.WeakSet()
        self._steps_lock = threading.RLock()
        self._takes_steps = True
        self._config = config
        limits = Limits(
            config.profile_max_parallel, config.profile_dump_max_stack_depth, 60 * config.profile_duration
        )  # fmt: skip
        self.profiler = Profiler(self.tracer, limits, self._offer(Signal.PROFILE, encoder.snapshot))
        """Carries out profile tasks."""
        self.overrides = Overrides(config, self.tracer, self.profiler.count, limited)
        """Puts in force the settings that the collector changes."""
        ledger = LedgerMeters(pipelines.statistics, pipelines.latencies)
        sources: list[Source] = [
            ledger.collect, self.tracer.endpoints.collect, self.tracer.peers.collect, self._blocks.collect,
            self.profiler.collect, POOLS.collect,
        ]  # fmt: skip
        if self._runtime is not None:
            sources.append(self._runtime.collect)
        if self._segments.relief is not None:
            sources.append(self._segments.relief.shedding.collect)
        self.meter_report = MeterReport(
            REGISTRY, sources, self._offer_meters, config.meter_reporter_period, limited, self._measure_process
        )
        """The child that reports the meters every period."""
        REGISTRY.limit = config.meter_reporter_max_buffer_size

    def begin(self) -> None:
        """Take records in."""
        self._has_begun = True
        tracers.install(self.tracer)
        self._threads.attach()
        self._loop_runs.attach()
        if self._pipelines.is_on(Signal.LOG):
            self._logs.attach()
        if self._pipelines.is_on(Signal.METER) and self._runtime is not None:
            self._runtime.attach()
            if not suppress_instrumentation.get():
                # the application's own loop, which the import would hold once it serves
                self._measure_process()
        self._offer_event(started(self._begun_at))
        self.watch_loop()

    def _measure_process(self) -> None:
        if self._runtime is not None:
            self._runtime.measure_process()

    def watch_loop(self) -> None:
        """Look after the running loop, unless it is the agent's own. A second call does nothing. A thread may run one
        loop after the other, as that of a test does."""
        thread = threading.get_ident()
        if not self._block_limit or suppress_instrumentation.get() or not self._watches_loops:
            return
        known = self._loop_watches.get(thread)
        if known is not None and known.is_run():
            return
        self._leave_ended_loops(thread)
        try:
            self._loop_watches[thread] = LoopWatch(
                view_of_this_loop(), self._block_limit, self._note_block, rest_beside_this_loop()
            )
        except Exception as error:  # noqa: BLE001, RUF100  (a loop of a foreign class, or no thread to spare)
            say(logging.INFO, "this event loop is not watched: %r", error)
        if not self._watches_loops:  # ended meanwhile, in another thread
            self._leave_loops()

    def _leave_loops(self) -> None:
        for thread in list(self._loop_watches):  # another thread may begin to watch its loop meanwhile
            watch = self._loop_watches.pop(thread, None)
            if watch is not None:
                watch.stop()

    def _leave_ended_loops(self, thread: int) -> None:
        """Watch no loop that ran in a thread, nor those of threads that have ended."""
        alive = {each.ident for each in threading.enumerate()}
        for each in list(self._loop_watches):
            if each == thread or each not in alive:
                watch = self._loop_watches.pop(each, None)
                if watch is not None:
                    watch.stop()

    def _note_block(self, block: Block) -> None:
        self._blocks.note(block)
        if self.on_block is not None:
            self.on_block(block)

    def wait_for_blocks(self, timeout: float) -> None:
        """Wait until each hold of a loop that is over has been reported. Blocks.

        :param timeout: seconds for each
        """
        for watch in list(self._loop_watches.values()):
            if watch.thread != threading.get_ident() or not watch.is_run():
                watch.wait_for_report(timeout)

    def pause(self) -> None:
        """Take in nothing by itself, and watch no loop, until `resume`."""
        tracers.uninstall(self.tracer)
        self._leave_loops()

    def resume(self) -> None:
        """Take records in again."""
        tracers.install(self.tracer)

    def steps_here(self) -> Steps | None:
        """The steps of the running loop. Where the time of each request is split they are reported from now on until
        the end, since it costs more to begin and to end with each request. None: nothing is taken in any more.

        :raises Exception: the loop cannot be seen into
        """
        steps = steps_here()
        with self._steps_lock:
            if not self._takes_steps:
                return None
            if steps not in self._steps:
                # a loop that serves
                self.watch_loop()
                if self._splits_each(steps):
                    steps.enter()
                self._steps.add(steps)
                steps.keep()
        return steps

    def end(self) -> None:
        """Take nothing more in, after a last report. A second call does nothing, and so does one before the first."""
        if self._has_ended or not self._has_begun:
            return
        tracers.uninstall(self.tracer)
        self._threads.detach()
        self._loop_runs.detach()
        self._logs.detach()
        self._watches_loops = False
        self._leave_loops()
        self._leave_steps()
        self.profiler.stop()
        self.tracer.finish_open_segments()
        if self._pipelines.is_on(Signal.METER):
            self.meter_report.report_now()
        if self._runtime is not None:
            self._runtime.detach()
        self._has_ended = True

    def report_end(self) -> None:
        """Report the end of the instance, with the ledger of now: the last record. A second call does nothing."""
        if self._has_ended and not self._has_reported_end:
            self._has_reported_end = True
            self._offer_event(stopping(self._pipelines.statistics().as_parameters()))

    def _splits_each(self, steps: Steps) -> bool:
        return self._config.splits_every(on_trio=steps.loop is None) == 1

    def _leave_steps(self) -> None:
        with self._steps_lock:
            self._takes_steps = False
            kept = [*self._steps]
            self._steps.clear()
        for steps in kept:
            if self._splits_each(steps):
                steps.leave()
            steps.let_go()

    def after_fork_in_child(self) -> None:
        """In a forked child: record nothing more for the parent's agent."""
        for watch in self._loop_watches.values():
            watch.after_fork_in_child()
        self._loop_watches.clear()
        self._steps.clear()
        self.profiler.after_fork_in_child()
        tracers.uninstall(self.tracer)
        self._threads.detach()
        self._loop_runs.detach()
        self._logs.detach()
        if self._runtime is not None:
            self._runtime.detach()

    def _offer(self, signal: Signal, encode: Callable[[T], bytes]) -> Callable[[T], object]:
        return self._pipelines.offer_to(signal, encode) if self._pipelines.is_on(signal) else _nowhere

    def _offer_segment(self, segment: Segment) -> None:
        # the spans are taken away from the segment next, so that the two do not hold each other
        self._segments.offer((segment, segment.spans))

    def _offer_meters(self, samples: Sequence[Sample]) -> None:
        if samples and not self._has_ended:
            self._offer_samples(samples)


def _nowhere(_: object) -> None:
    """Where the records of a signal go that is off."""


def _shows_parameters(config: Config) -> frozenset[int]:
    """The frameworks whose requests show the parameters of their query."""
    wanted = {
        Component.FLASK: config.plugin_flask_collect_http_params,
        Component.SANIC: config.plugin_sanic_collect_http_params,
        Component.DJANGO: config.plugin_django_collect_http_params,
        Component.FASTAPI: config.plugin_fastapi_collect_http_params,
        Component.BOTTLE: config.plugin_bottle_collect_http_params,
    }
    return frozenset(component for component, is_wanted in wanted.items() if is_wanted)


def _build_capture(config: Config, pipelines: Pipelines, encoder: Encoder) -> LogCapture:
    settings = LogSettings.from_config(config)
    if not pipelines.is_on(Signal.LOG):
        return LogCapture(_nowhere, settings)
    intake = pipelines.log_intake(LogEncoder(encoder, Layout(settings)))
    return LogCapture(intake.offer, settings, intake.offer_plain)


def _build_tracer(config: Config, offer: Callable[[Segment], None]) -> Tracer:
    use_endpoint_style(config.endpoint_style, as_official=config.compatibility == "official")
    return Tracer(
        config.service_name,
        config.instance,
        offer,
        is_ignored=compile_ignored(config.ignore_suffix, config.trace_ignore_path, config.plugin_http_ignore_method),
        sampler=Sampler(config.sample_n_per_3_secs),
        span_limit=config.span_limit,
        correlation_limits=(config.correlation_element_max_number, config.correlation_value_max_length),
        propagate_to=config.propagate_to,
        trust_incoming=config.trust_incoming,
        endpoint_limit=config.endpoint_limit,
        peer_limit=config.peer_limit,
        # where a path is the name, it is no secret in the URL
        real_path=config.http_url_real_path or config.endpoint_style == "path",
        parameters_of=_shows_parameters(config),
        parameters_length=config.plugin_http_http_params_length_threshold,
        traceparent=config.propagate_traceparent,
        grace=config.span_grace,
        splits_threads_every=config.splits_threads_every,
    )
