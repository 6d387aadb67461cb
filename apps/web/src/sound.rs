//! Sounds, made of noise and tones when they are needed, and placed in space around the listener.

use crate::camera::Camera;
use crate::effects::Noise;
use sametick::Dice;
use sametick_arena::Weapon;
use sametick_arena::vector::Vector;
use wasm_bindgen::JsValue;
use web_sys::{AudioBuffer, AudioContext, AudioNode, BiquadFilterType, GainNode, OscillatorType};

/// How many sounds may begin in one frame; more would only be louder.
const SOUNDS_PER_FRAME_MAX: u32 = 12;

/// Loudspeakers, once the player has touched the page: before that no browser lets a page be heard.
pub(crate) struct Speakers {
    context: AudioContext,
    master: GainNode,
    noise: AudioBuffer,
    begun: u32,
}

impl Speakers {
    /// Prepares one second of noise.
    pub(crate) fn new(volume: f32) -> Result<Self, JsValue> {
        let context = AudioContext::new()?;
        let master = context.create_gain()?;
        master.connect_with_audio_node(&context.destination())?;
        master.gain().set_value(volume);
        let rate = context.sample_rate();
        let mut dice = Dice::new(7, 0x501);
        let samples: Vec<f32> =
            (0..rate as usize).map(|_| dice.unit() as f32 * 2.0 - 1.0).collect();
        let noise = context.create_buffer(1, samples.len() as u32, rate)?;
        noise.copy_to_channel(&samples, 0)?;
        Ok(Self { context, master, noise, begun: 0 })
    }

    /// How loud all of it is.
    pub(crate) fn set_volume(&self, volume: f32) {
        self.master.gain().set_value(volume);
    }

    /// Where one listens from.
    pub(crate) fn listen(&mut self, camera: &Camera) {
        self.begun = 0;
        let listener = self.context.listener();
        let ([x, y, z], [fx, fy, fz], [ux, uy, uz]) = (camera.eye, camera.forward(), camera.up());
        listener.set_position(x.into(), y.into(), z.into());
        listener.set_orientation(fx.into(), fy.into(), fz.into(), ux.into(), uy.into(), uz.into());
    }

    /// Makes a sound somewhere, or in one's own head.
    pub(crate) fn play(&mut self, sound: Noise, at: Option<Vector>) {
        if self.begun < SOUNDS_PER_FRAME_MAX {
            self.begun += 1;
            // A sound that cannot be made is none.
            let _ = self.make(sound, at);
        }
    }

    fn make(&self, sound: Noise, at: Option<Vector>) -> Result<(), JsValue> {
        let out = self.place(at)?;
        match sound {
            Noise::Shot(Weapon::Rifle) => {
                self.noise(&out, 0.09, (2400.0, 500.0), 0.8)?;
                self.tone(&out, (110.0, 55.0), 0.09, 0.7, OscillatorType::Sine)
            }
            Noise::Shot(Weapon::Shotgun) => {
                self.noise(&out, 0.2, (1800.0, 250.0), 1.0)?;
                self.tone(&out, (90.0, 40.0), 0.16, 0.9, OscillatorType::Sine)
            }
            Noise::Shot(Weapon::Launcher) => self.noise(&out, 0.35, (500.0, 1600.0), 0.6),
            Noise::Blast => {
                self.noise(&out, 0.7, (1200.0, 80.0), 1.2)?;
                self.tone(&out, (70.0, 28.0), 0.5, 1.0, OscillatorType::Sine)
            }
            Noise::Step => self.noise(&out, 0.05, (500.0, 180.0), 0.16),
            Noise::Jump => self.noise(&out, 0.08, (300.0, 700.0), 0.16),
            Noise::Land => self.noise(&out, 0.1, (400.0, 90.0), 0.4),
            Noise::Hurt => self.tone(&out, (220.0, 120.0), 0.12, 0.4, OscillatorType::Triangle),
            Noise::Death => self.tone(&out, (300.0, 70.0), 0.4, 0.4, OscillatorType::Triangle),
            Noise::Pickup => {
                self.tone(&out, (660.0, 660.0), 0.07, 0.25, OscillatorType::Sine)?;
                self.tone(&out, (990.0, 990.0), 0.14, 0.2, OscillatorType::Sine)
            }
            Noise::Reload => self.noise(&out, 0.04, (3000.0, 2000.0), 0.2),
            Noise::Door => self.tone(&out, (60.0, 90.0), 0.4, 0.3, OscillatorType::Triangle),
            Noise::Teleport => self.tone(&out, (300.0, 1500.0), 0.25, 0.25, OscillatorType::Sine),
            Noise::Break => self.noise(&out, 0.25, (1600.0, 300.0), 0.6),
            Noise::Hit => self.tone(&out, (1200.0, 1200.0), 0.035, 0.22, OscillatorType::Sine),
            Noise::Confirmed => self.tone(&out, (1800.0, 1800.0), 0.06, 0.28, OscillatorType::Sine),
        }
    }

    /// Where a sound goes to be heard from a place.
    fn place(&self, at: Option<Vector>) -> Result<AudioNode, JsValue> {
        let Some([x, y, z]) = at else { return Ok(self.master.clone().into()) };
        let panner = self.context.create_panner()?;
        panner.set_position(x.into(), y.into(), z.into());
        panner.set_ref_distance(3.0);
        panner.set_rolloff_factor(1.2);
        panner.connect_with_audio_node(&self.master)?;
        Ok(panner.into())
    }

    fn noise(
        &self,
        out: &AudioNode,
        seconds: f64,
        (from, to): (f32, f32),
        loud: f32,
    ) -> Result<(), JsValue> {
        let now = self.context.current_time();
        let source = self.context.create_buffer_source()?;
        source.set_buffer(Some(&self.noise));
        let filter = self.context.create_biquad_filter()?;
        filter.set_type(BiquadFilterType::Lowpass);
        filter.frequency().set_value_at_time(from, now)?;
        filter.frequency().exponential_ramp_to_value_at_time(to, now + seconds)?;
        let gain = self.fading(now, seconds, loud)?;
        source.connect_with_audio_node(&filter)?;
        filter.connect_with_audio_node(&gain)?;
        gain.connect_with_audio_node(out)?;
        source.start_with_when_and_grain_offset(now, (now * 7.3) % 0.25)?;
        web_sys::AudioScheduledSourceNode::stop_with_when(&source, now + seconds)
    }

    fn tone(
        &self,
        out: &AudioNode,
        (from, to): (f32, f32),
        seconds: f64,
        loud: f32,
        shape: OscillatorType,
    ) -> Result<(), JsValue> {
        let now = self.context.current_time();
        let source = self.context.create_oscillator()?;
        source.set_type(shape);
        source.frequency().set_value_at_time(from, now)?;
        source.frequency().exponential_ramp_to_value_at_time(to, now + seconds)?;
        let gain = self.fading(now, seconds, loud)?;
        source.connect_with_audio_node(&gain)?;
        gain.connect_with_audio_node(out)?;
        source.start_with_when(now)?;
        source.stop_with_when(now + seconds)
    }

    fn fading(&self, now: f64, seconds: f64, loud: f32) -> Result<GainNode, JsValue> {
        let gain = self.context.create_gain()?;
        gain.gain().set_value_at_time(loud, now)?;
        gain.gain().exponential_ramp_to_value_at_time(0.001, now + seconds)?;
        Ok(gain)
    }
}
